package percached

import (
	"crypto/aes"
	"crypto/cipher"
)

// PublicIDs converts the ids of one space's documents and chunks to those that its
// clients see. A document's own id is a hash of its key and a chunk's a hash of its text,
// equal in every space. Public ids of two spaces are unrelated, so they do not reveal
// that two spaces contain the same. Each function has an inverse. The zero PublicIDs
// leave ids unchanged, as in spaces older than public ids.
type PublicIDs struct{ block cipher.Block }

// NewPublicIDs creates the ids of a space with this secret.
func NewPublicIDs(secret [16]byte) PublicIDs {
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		panic(err) // impossible with 16 bytes
	}
	return PublicIDs{block}
}

// Chunk is the public id of a chunk.
func (p PublicIDs) Chunk(own ChunkID) ChunkID { return ChunkID(p.seal(own)) }

// ChunkOf is the chunk with a public id.
func (p PublicIDs) ChunkOf(public ChunkID) ChunkID { return ChunkID(p.open(public)) }

// Chunks are the public ids of chunks.
func (p PublicIDs) Chunks(own []ChunkID) []ChunkID {
	public := make([]ChunkID, len(own))
	for i, id := range own {
		public[i] = p.Chunk(id)
	}
	return public
}

// Document is the public id of a document.
func (p PublicIDs) Document(own DocumentID) DocumentID { return DocumentID(p.seal(own)) }

// DocumentOf is the document with a public id.
func (p PublicIDs) DocumentOf(public DocumentID) DocumentID { return DocumentID(p.open(public)) }

// Path is the public name of a path, which is also a hash of texts.
func (p PublicIDs) Path(own Path) string {
	first := p.seal([16]byte(own[:16]))
	copy(own[:], first[:])
	return own.String()
}

func (p PublicIDs) seal(own [16]byte) [16]byte {
	if p.block != nil {
		p.block.Encrypt(own[:], own[:])
	}
	return own
}

func (p PublicIDs) open(public [16]byte) [16]byte {
	if p.block != nil {
		p.block.Decrypt(public[:], public[:])
	}
	return public
}
