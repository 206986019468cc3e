package api

// chatCompletion is the answer to a chat, in the words of OpenAI's interface.
type chatCompletion struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`  // chat.completion
	Created int64        `json:"created"` // seconds since 1970
	Model   string       `json:"model"`   // the space
	Choices []chatChoice `json:"choices"`
	Usage   chatUsage    `json:"usage"`
	Own     chatOwn      `json:"percached"`
}

type chatChoice struct {
	Index    int         `json:"index"`
	Message  chatMessage `json:"message"`
	Logprobs *struct{}   `json:"logprobs"` // always null; strict clients want it there
	Finish   string      `json:"finish_reason"`
}

type chatMessage struct {
	Role    string    `json:"role"`
	Content string    `json:"content"`
	Refusal *struct{} `json:"refusal"` // always null: that the documents do not say is an answer
}

// chatChunk is a piece of a chat's answer on its way.
type chatChunk struct {
	ID      string            `json:"id"`
	Object  string            `json:"object"` // chat.completion.chunk
	Created int64             `json:"created"`
	Model   string            `json:"model"`
	Choices []chatChunkChoice `json:"choices"`
	Usage   *chatUsage        `json:"usage,omitempty"`
	Own     *chatOwn          `json:"percached,omitempty"`
}

type chatChunkChoice struct {
	Index    int       `json:"index"`
	Delta    chatDelta `json:"delta"`
	Logprobs *struct{} `json:"logprobs"`
	Finish   *string   `json:"finish_reason"`
}

type chatDelta struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
}

type chatUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// chatOwn is what percached says of an answer besides.
type chatOwn struct {
	Outcome string `json:"outcome"`
	Refused bool   `json:"refused"`
	Grounds
	Citations []Citation         `json:"citations"`
	Gate      Gate               `json:"gate"`
	Chunks    Reuse              `json:"chunks"`
	Tokens    Tokens             `json:"tokens"`
	Times     map[string]float64 `json:"times"`
}

// embeddingList is the answer to an embedding, in the words of OpenAI's interface.
type embeddingList struct {
	Object string          `json:"object"` // list
	Data   []embeddingItem `json:"data"`
	Model  string          `json:"model"`
	Usage  embeddingUsage  `json:"usage"`
}

type embeddingItem struct {
	Object    string `json:"object"` // embedding
	Index     int    `json:"index"`
	Embedding any    `json:"embedding"` // []float32, or text in base64
}

// embeddingUsage is zero: the embedder counts no tokens. OpenAI's clients want it there.
type embeddingUsage struct {
	Prompt int `json:"prompt_tokens"`
	Total  int `json:"total_tokens"`
}

// modelList lists what can be named as a model: spaces, and the embedder.
type modelList struct {
	Object string      `json:"object"` // list
	Data   []modelItem `json:"data"`
}

type modelItem struct {
	ID      string `json:"id"`
	Object  string `json:"object"`  // model
	Created int64  `json:"created"` // when the daemon began: a space does not say
	OwnedBy string `json:"owned_by"`
}
