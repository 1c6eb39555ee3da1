from unsloth import FastLanguageModel, UnslothTrainer, UnslothTrainingArguments

max_seq_length = 2048
model, tokenizer = FastLanguageModel.from_pretrained(model_name = "unsloth/mistral-7b-v0.3", max_seq_length = max_seq_length, load_in_4bit = True)
model = FastLanguageModel.get_peft_model(
    model,
    r = 128,
    target_modules = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "embed_tokens", "lm_head",],
    use_gradient_checkpointing = False,
    use_rslora = True,
)
trainer = UnslothTrainer(
    model = model,
    max_seq_length = max_seq_length,
    args = UnslothTrainingArguments(per_device_train_batch_size = 2, gradient_accumulation_steps = 8, embedding_learning_rate = 1e-5, optim = "adamw_8bit"),
)
second = UnslothTrainer(
    model = model,
    max_seq_length = max_seq_length,
    args = UnslothTrainingArguments(per_device_train_batch_size = 2, gradient_accumulation_steps = 8, weight_decay = 0.0, optim = "adamw_8bit"),
)
