from peft import LoraConfig
from transformers import BitsAndBytesConfig
from trl import SFTConfig, SFTTrainer
import torch

model_id = "Qwen/Qwen3-8B"
quantization_config = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.float16, bnb_4bit_use_double_quant=True)
peft_config = LoraConfig(r=32, lora_alpha=32, target_modules=["q_proj", "v_proj"])
training_args = SFTConfig(
    model_init_kwargs={"attn_implementation": "sdpa", "dtype": "float16"},
    per_device_train_batch_size=1,
    gradient_accumulation_steps=4,
    max_steps=30,
)
trainer = SFTTrainer(model=model_id, args=training_args, train_dataset=d, quantization_config=quantization_config, peft_config=peft_config)
