import torch
from unsloth import FastLanguageModel
from trl import SFTConfig, SFTTrainer

MODEL_ID = "unsloth/Qwen3-0.6B"
QAT_SCHEME = "phone-deployment"
model, tokenizer = FastLanguageModel.from_pretrained(
    model_name = MODEL_ID,
    max_seq_length = 2048,
    dtype = torch.bfloat16,
    load_in_4bit = False,
    full_finetuning = True,
    qat_scheme = QAT_SCHEME,
)
trainer = SFTTrainer(
    model = model,
    args = SFTConfig(per_device_train_batch_size = 2, gradient_accumulation_steps = 4, optim = "adamw_8bit"),
)
