from transformers import AutoModelForImageTextToText
from trl import SFTConfig, SFTTrainer


def main():
    model_id = "google/gemma-3-12b-it"
    model = AutoModelForImageTextToText.from_pretrained(model_id, attn_implementation="eager")
    training_args = SFTConfig(
        output_dir=f"{model_id}-SFT",
        bf16=True,
        use_liger_kernel=True,
        max_length=8192,
        per_device_train_batch_size=1,
        gradient_accumulation_steps=8,
        dataset_num_proc=32,
    )
    SFTTrainer(args=training_args, model=model, train_dataset=train_dataset).train()
