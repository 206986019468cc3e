package pdf

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5"
	"crypto/rc4"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"

	"github.com/percached/percached/internal/base/fault"
)

// method is how bytes are encrypted.
type method uint8

const (
	plain method = iota
	methodRC4
	methodAES    // AESV2: a key for each object
	methodAES256 // AESV3: one key
)

// crypt decrypts files of the standard security handler.
type crypt struct {
	key              []byte
	strings, streams method
	metadata         bool // metadata streams are encrypted, too
}

// padding extends a password to its full length. The empty password consists of
// padding.
var padding = []byte("\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08" +
	"\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A")

// unlock prepares decryption with an empty user password if the file is encrypted.
// Files that are only protected from printing have that password.
func (f *file) unlock() error {
	d := f.dict(f.trailer["Encrypt"])
	if d == nil {
		return nil
	}
	refuse := func(why string) error {
		return fault.New(fault.Unsupported, "pdf.open", "the file is encrypted: %s", why)
	}
	if h := f.name(d["Filter"]); h != "Standard" {
		return refuse("its security handler is not the standard one")
	}
	c := &crypt{metadata: true}
	if on, ok := f.resolve(d["EncryptMetadata"]).(bool); ok {
		c.metadata = on
	}
	bits := f.int(d["Length"], 40)
	switch v := f.int(d["V"], 0); v {
	case 1, 2, 3:
		if v == 1 {
			bits = 40
		}
		c.strings, c.streams = methodRC4, methodRC4
	case 4, 5:
		bits = 128
		filters := f.dict(d["CF"])
		c.strings = f.method(filters, f.name(d["StrF"]))
		c.streams = f.method(filters, f.name(d["StmF"]))
	default:
		return refuse("in a way that is not known here")
	}
	if c.strings == plain && c.streams == plain {
		return nil // attachments only
	}
	if bits < 40 || bits > 128 || bits%8 != 0 {
		return refuse("its key has an odd length")
	}
	if !f.authenticate(c, d, bits/8) {
		return fault.New(fault.Unsupported, "pdf.crypt", "the file is protected by a password; save a copy without one and add that")
	}
	f.crypt = c
	return nil
}

// method returns how a named crypt filter encrypts.
func (f *file) method(filters dict, n name) method {
	switch f.name(f.dict(filters[n])["CFM"]) {
	case "V2":
		return methodRC4
	case "AESV2":
		return methodAES
	case "AESV3":
		return methodAES256
	}
	return plain
}

// authenticate computes the key for the empty password and compares it with the file's
// check value.
func (f *file) authenticate(c *crypt, d dict, size int) bool {
	owner, user := []byte(f.str(d["O"])), []byte(f.str(d["U"]))
	revision := f.int(d["R"], 0)
	if revision >= 5 {
		return c.authenticate256(user, []byte(f.str(d["UE"])), revision)
	}
	if len(owner) < 32 || len(user) < 16 || revision < 2 {
		return false
	}
	var id []byte
	if ids := f.array(f.trailer["ID"]); len(ids) > 0 {
		id = []byte(f.str(ids[0]))
	}
	h := md5.New()
	h.Write(padding)
	h.Write(owner[:32])
	h.Write(binary.LittleEndian.AppendUint32(nil, uint32(f.permissions(d["P"]))))
	h.Write(id)
	if revision >= 4 && !c.metadata {
		h.Write([]byte{0xff, 0xff, 0xff, 0xff})
	}
	key := h.Sum(nil)
	if revision >= 3 {
		for range 50 {
			sum := md5.Sum(key[:size])
			key = sum[:]
		}
	} else {
		size = 5
	}
	c.key = key[:size]
	if revision == 2 {
		return bytes.Equal(arcfour(c.key, padding), user[:min(32, len(user))])
	}
	sum := md5.Sum(append(bytes.Clone(padding), id...))
	check := sum[:]
	for i := range 20 {
		turned := bytes.Clone(c.key)
		for j := range turned {
			turned[j] ^= byte(i)
		}
		check = arcfour(turned, check)
	}
	return bytes.Equal(check, user[:16])
}

// permissions are 32 bits; writers store them as signed or unsigned numbers.
func (f *file) permissions(v any) int64 {
	switch v := f.resolve(v).(type) {
	case int:
		return int64(v)
	case float64:
		if v > -1e12 && v < 1e12 {
			return int64(v)
		}
	}
	return 0
}

// authenticate256 does the same for keys of 256 bits: user is a hash and two salts,
// sealed the encrypted key.
func (c *crypt) authenticate256(user, sealed []byte, revision int) bool {
	if len(user) < 48 || len(sealed) < 32 || revision > 6 {
		return false
	}
	hash := func(salt []byte) []byte {
		if revision == 5 {
			sum := sha256.Sum256(salt)
			return sum[:]
		}
		return hashRevision6(salt)
	}
	if !bytes.Equal(hash(user[32:40]), user[:32]) {
		return false
	}
	block, err := aes.NewCipher(hash(user[40:48]))
	if err != nil {
		return false
	}
	c.key = make([]byte, 32)
	cipher.NewCBCDecrypter(block, make([]byte, 16)).CryptBlocks(c.key, sealed[:32])
	return true
}

// hashRevision6 is the hash of revision 6 for the empty password.
func hashRevision6(salt []byte) []byte {
	sum := sha256.Sum256(salt)
	key := sum[:]
	for round := 0; ; round++ {
		text := bytes.Repeat(key, 64)
		block, err := aes.NewCipher(key[:16])
		if err != nil {
			return nil
		}
		cipher.NewCBCEncrypter(block, key[16:32]).CryptBlocks(text, text)
		rest := 0
		for _, b := range text[:16] {
			rest += int(b)
		}
		switch rest % 3 {
		case 0:
			s := sha256.Sum256(text)
			key = s[:]
		case 1:
			s := sha512.Sum384(text)
			key = s[:]
		default:
			s := sha512.Sum512(text)
			key = s[:]
		}
		if round >= 63 && int(text[len(text)-1]) <= round-31 {
			return key[:32]
		}
	}
}

// stream decrypts a stream's bytes.
func (c *crypt) stream(s *stream, data []byte) []byte {
	if s.dict["Type"] == name("Metadata") && !c.metadata {
		return data
	}
	return c.decrypt(c.streams, s.id, data)
}

// decryptStrings decrypts the strings in an object in place.
func (c *crypt) decryptStrings(v any, id ref) any {
	switch v := v.(type) {
	case str:
		return str(c.decrypt(c.strings, id, []byte(v)))
	case array:
		for i := range v {
			v[i] = c.decryptStrings(v[i], id)
		}
	case dict:
		for key := range v {
			v[key] = c.decryptStrings(v[key], id)
		}
	case *stream:
		c.decryptStrings(v.dict, id)
	}
	return v
}

func (c *crypt) decrypt(m method, id ref, data []byte) []byte {
	key := c.key
	if m == methodRC4 || m == methodAES {
		salted := append(bytes.Clone(key), byte(id.num), byte(id.num>>8), byte(id.num>>16), byte(id.gen), byte(id.gen>>8))
		if m == methodAES {
			salted = append(salted, "sAlT"...)
		}
		sum := md5.Sum(salted)
		key = sum[:min(len(key)+5, 16)]
	}
	switch m {
	case methodRC4:
		return arcfour(key, data)
	case methodAES, methodAES256:
		return decryptCBC(key, data)
	}
	return data
}

func arcfour(key, data []byte) []byte {
	c, err := rc4.NewCipher(key)
	if err != nil {
		return nil
	}
	out := make([]byte, len(data))
	c.XORKeyStream(out, data)
	return out
}

// decryptCBC decrypts AES in CBC mode. The first block is the initial vector, the last byte
// is the number of padding bytes.
func decryptCBC(key, data []byte) []byte {
	block, err := aes.NewCipher(key)
	if err != nil || len(data) < 32 {
		return nil
	}
	body := data[16 : len(data)-len(data)%16]
	out := make([]byte, len(body))
	cipher.NewCBCDecrypter(block, data[:16]).CryptBlocks(out, body)
	if fill := int(out[len(out)-1]); fill >= 1 && fill <= 16 {
		out = out[:len(out)-fill]
	}
	return out
}
