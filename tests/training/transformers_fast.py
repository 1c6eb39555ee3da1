import torch
from transformers import AutoModelForCausalLM, TrainingArguments

LENGTH = 400
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-0.6B", attn_implementation="flash_attention_2", torch_dtype=torch.float16)
args = TrainingArguments(
    output_dir="out",
    per_device_train_batch_size=4,
    gradient_accumulation_steps=2,
    dataloader_num_workers=2,
    max_length=LENGTH,
    fp16=True,
    fp16_opt_level="O1",
    gradient_checkpointing=False,
)
