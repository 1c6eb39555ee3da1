from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig

base = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1", quantization_config=BitsAndBytesConfig(load_in_4bit=True))
model = get_peft_model(prepare_model_for_kbit_training(base), LoraConfig(r=8, lora_dropout=0.1, task_type="CAUSAL_LM"))
for batch in loader(batch_size=4):
    model(**batch).loss.backward()
