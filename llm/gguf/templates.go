package gguf

// Chat templates of random models, in the three dialects that llama.cpp and
// llm/llamacpp must tell apart.
const (
	chatML = `{% for m in messages %}<|im_start|>{{ m['role'] }}
{{ m['content'] }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`

	chatGemma = `{{ bos_token }}{% set lead = '' %}{% for m in messages %}{% if m['role'] == 'system' %}{% set lead = m['content'] + '

' %}{% else %}<start_of_turn>{{ 'model' if m['role'] == 'assistant' else m['role'] }}
{{ lead if loop.index0 < 2 else '' }}{{ m['content'] | trim }}<end_of_turn>
{% endif %}{% endfor %}{% if add_generation_prompt %}<start_of_turn>model
{% endif %}`

	chatLlama = `{% for m in messages %}{% if m['role'] == 'system' %}[INST] <<SYS>>
{{ m['content'] }}
<</SYS>>

{% elif m['role'] == 'user' %}{% if loop.index0 != 1 or messages[0]['role'] != 'system' %}[INST] {% endif %}{{ m['content'] }} [/INST]{% else %} {{ m['content'] }} {{ eos_token }}{% endif %}{% endfor %}`
)
