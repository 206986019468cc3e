package backend

import (
	"context"
	"slices"
	"strconv"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/conversation"
	"github.com/percached/percached/internal/ingest"
)

func wireConversation(c conversation.Conversation) api.Conversation {
	return api.Conversation{
		ID: c.ID.String(), Title: c.Title, Instructions: c.Instructions, Created: c.Created, Used: c.Used, Count: c.Next, Summary: c.Summary.Text,
	}
}

// conversationID parses the ID of a conversation. An impossible one does not exist.
func conversationID(s string) (conversation.ID, error) {
	id, err := conversation.ParseID(s)
	if err != nil {
		return id, fault.New(fault.NotFound, "conversation", "there is no such conversation")
	}
	return id, nil
}

func (b *Backend) conversations(_ context.Context, in api.Page) (api.Conversations, error) {
	out := api.Conversations{Conversations: []api.Conversation{}}
	if _, err := b.Knowledge.Space(in.Space); err != nil {
		return out, err
	}
	all, next, err := pageOf(b.Node.Conversations.List(in.Space), in.Limit, in.After, func(c conversation.Conversation) string { return c.ID.String() })
	for _, c := range all {
		out.Conversations = append(out.Conversations, wireConversation(c))
	}
	out.Next = next
	return out, err
}

func (b *Backend) createConversation(_ context.Context, in api.NewConversation) (out api.Conversation, err error) {
	b.spacesMu.Lock() // the space must not be deleted meanwhile
	defer b.spacesMu.Unlock()
	if _, err := b.Knowledge.Space(in.Space); err != nil {
		return out, err
	}
	c, err := b.Node.Conversations.Create(in.Space, conversation.Conversation{Title: in.Title, Instructions: in.Instructions})
	return wireConversation(c), err
}

func (b *Backend) conversation(_ context.Context, in api.TurnsPage) (out api.Conversation, err error) {
	id, err := b.conversationOf(in.OneConversation)
	if err != nil {
		return out, err
	}
	c, turns, err := b.Node.Conversations.Get(in.Space, id)
	if err != nil {
		return out, err
	}
	out = wireConversation(c)
	slices.Reverse(turns)
	turns, out.Next, err = pageOf(turns, in.Limit, in.After, func(t conversation.Turn) string { return strconv.FormatUint(t.Number, 10) })
	for _, t := range slices.Backward(turns) {
		out.Turns = append(out.Turns, api.SaidTurn{Number: t.Number, Role: t.Role, Text: t.Text, At: t.At})
	}
	return out, err
}

// conversationOf returns the ID of a conversation of an existing space.
func (b *Backend) conversationOf(in api.OneConversation) (conversation.ID, error) {
	if _, err := b.Knowledge.Space(in.Space); err != nil {
		return conversation.ID{}, err
	}
	return conversationID(in.Conversation)
}

func (b *Backend) addTurns(_ context.Context, in api.NewTurns) (out api.Conversation, err error) {
	id, err := b.conversationOf(in.OneConversation)
	if err != nil {
		return out, err
	}
	var turns []conversation.Turn
	for _, t := range in.Turns {
		turns = append(turns, conversation.Turn{Role: t.Role, Text: t.Text})
	}
	c, err := b.Node.Conversations.Append(in.Space, id, turns...)
	if err == nil {
		b.Asker.Prepare(in.Space, id)
	}
	return wireConversation(c), err
}

// deleteConversation deletes a conversation and its tensors.
func (b *Backend) deleteConversation(ctx context.Context, in api.OneConversation) (out api.Receipt, err error) {
	id, err := b.conversationOf(in)
	if err != nil {
		return out, err
	}
	var r ingest.Receipt
	if err := b.Library.RemoveFromMeta(ctx, in.Space, func() (err error) {
		if r.Turns, err = b.Node.Conversations.Delete(in.Space, id); err == nil {
			b.Asker.Settle()
			r.Slices, r.Bytes, err = b.Node.Tree.Forget(in.Space, []percached.ChunkID{percached.ChunkID(id)})
		}
		return err
	}); err != nil {
		return out, err
	}
	return wireReceipt(r), nil
}
