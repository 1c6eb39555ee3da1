from unsloth import FastLanguageModel
from trl import GRPOConfig, GRPOTrainer

max_seq_length = 1024
lora_rank = 64
model, tokenizer = FastLanguageModel.from_pretrained(
    model_name = "unsloth/Qwen2.5-3B-Instruct", max_seq_length = max_seq_length, load_in_4bit = True, fast_inference = True
)
model = FastLanguageModel.get_peft_model(model, r = lora_rank, use_gradient_checkpointing = "unsloth")
training_args = GRPOConfig(
    use_vllm = True,
    optim = "adamw_8bit",
    per_device_train_batch_size = 1,
    gradient_accumulation_steps = 1,
    num_generations = 8,
)
