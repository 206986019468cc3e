package percached

import "testing"

// Public ids lead back to what they stand for, those of two spaces differ, and those
// of a space that has no secret are the ids themselves.
func TestPublicIDs(t *testing.T) {
	a, b, none := NewPublicIDs([16]byte{1}), NewPublicIDs([16]byte{2}), PublicIDs{}
	chunk, document, p := NewChunkID("text"), NewDocumentID("key"), Path{}.Child([]int32{1})
	for _, ids := range []PublicIDs{a, b, none} {
		if ids.ChunkOf(ids.Chunk(chunk)) != chunk || ids.DocumentOf(ids.Document(document)) != document {
			t.Error("they do not lead back")
		}
	}
	if none.Chunk(chunk) != chunk || none.Document(document) != document || none.Path(p) != p.String() {
		t.Error("without a secret they are others")
	}
	told := map[string]bool{}
	for _, id := range []string{
		chunk.String(), a.Chunk(chunk).String(), b.Chunk(chunk).String(), document.String(), a.Document(document).String(), b.Document(document).String(),
		p.String(), a.Path(p), b.Path(p),
	} {
		told[id] = true
	}
	if len(told) != 9 {
		t.Error("some are the same", told)
	}
	if got := a.Chunks([]ChunkID{chunk, {}}); got[0] != a.Chunk(chunk) || got[1] != a.Chunk(ChunkID{}) {
		t.Error(got)
	}
}
