package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// object is one entry of a prompt file, in any of the shapes that are in use: ours ("prompt" or "text"), OpenAI's
// ("messages"), and that of ShareGPT ("conversations" of "from" and "value").
type object struct {
	ID            json.RawMessage `json:"id"` // a string or a number
	Category      string          `json:"category"`
	Prompt        string          `json:"prompt"`
	Text          string          `json:"text"`
	MaxTokens     int             `json:"max_tokens"`
	Messages      []Message       `json:"messages"`
	Conversations []struct {
		From  string `json:"from"`
		Value string `json:"value"`
	} `json:"conversations"`
}

// parseObject reads one JSON object. On failure it also gives the column, from 1 at its beginning.
func parseObject(b []byte) (p Prompt, col int, err error) {
	var o object
	if err := json.Unmarshal(b, &o); err != nil {
		return p, errorColumn(err, b), fmt.Errorf("%w; each entry must be one JSON object with \"prompt\", \"text\", \"messages\" or \"conversations\"", err)
	}
	start := 1 + max(0, bytes.IndexByte(b, '{'))
	talk, err := o.conversation()
	switch {
	case err != nil:
		return p, start, err
	case o.MaxTokens < 0:
		return p, start, fmt.Errorf("\"max_tokens\" is %d; give 1 or more, or leave it out", o.MaxTokens)
	}
	id, err := o.id()
	if err != nil {
		return p, start, err
	}
	last := len(talk) - 1
	p = newPrompt(id, o.Category, talk[last].Content, talk[:last]...)
	p.MaxTokens = o.MaxTokens
	return p, start, nil
}

// id is the entry's own, "" when it has none.
func (o object) id() (string, error) {
	var text string
	var number json.Number
	switch {
	case len(o.ID) == 0 || string(o.ID) == "null":
		return "", nil
	case json.Unmarshal(o.ID, &text) == nil:
		return text, nil
	case json.Unmarshal(o.ID, &number) == nil:
		return number.String(), nil
	}
	return "", errors.New("\"id\" is neither a string nor a number")
}

// conversation gives the messages to send, the last of which is the user's. What follows the last message of the user
// in a recorded conversation is an answer, and is left out.
func (o object) conversation() ([]Message, error) {
	var given [][]Message
	for _, text := range []string{o.Prompt, o.Text} {
		if text != "" {
			given = append(given, []Message{{Role: "user", Content: text}})
		}
	}
	if len(o.Messages) > 0 {
		given = append(given, o.Messages)
	}
	if len(o.Conversations) > 0 {
		roles := map[string]string{"human": "user", "user": "user", "gpt": "assistant", "chatgpt": "assistant", "assistant": "assistant", "bing": "assistant", "bard": "assistant", "system": "system"}
		var turns []Message
		for i, c := range o.Conversations {
			role, known := roles[c.From]
			if !known {
				return nil, fmt.Errorf("conversations[%d] is \"from\" %q; known: human, gpt, system", i, c.From)
			}
			turns = append(turns, Message{Role: role, Content: c.Value})
		}
		// ShareGPT keeps whole dialogues, some from their middle; what a benchmark asks is their first question.
		if first := slices.IndexFunc(turns, func(m Message) bool { return m.Role == "user" }); first >= 0 {
			turns = slices.DeleteFunc(turns[:first+1], func(m Message) bool { return m.Role == "assistant" })
		}
		given = append(given, turns)
	}
	switch len(given) {
	case 0:
		return nil, errors.New("no prompt: give one of \"prompt\", \"text\", \"messages\" or \"conversations\", not empty")
	case 1:
		return checkTurns(given[0])
	}
	return nil, errors.New("more than one of \"prompt\", \"text\", \"messages\" and \"conversations\"; keep one")
}

func checkTurns(turns []Message) ([]Message, error) {
	last := -1
	for i, m := range turns {
		switch {
		case !slices.Contains([]string{"system", "developer", "user", "assistant"}, m.Role):
			return nil, fmt.Errorf("message %d has role %q; known: system, developer, user, assistant", i+1, m.Role)
		case m.Content == "":
			return nil, fmt.Errorf("message %d is empty", i+1)
		case m.Role == "user":
			last = i
		}
	}
	if last < 0 {
		return nil, errors.New("no message of the user: there is nothing to ask")
	}
	return turns[:last+1], nil
}
