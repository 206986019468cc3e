package retrieval

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// checkFiles compares the files of an index with their checksums before bleve maps them
// into memory, where a wrong pointer would end the process. A file of terms ends with a
// checksum, which bleve writes and never reads. The list of these files has a seal
// beside it while the index is closed; after a crash there is none.
func checkFiles(dir string) error {
	names, err := fs.Glob(os.DirFS(dir), "*.zap")
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := checkSegment(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("%w: %s: %w", errDamaged, name, err)
		}
	}
	want, err := os.ReadFile(filepath.Join(dir, sealFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	sum, err := listSum(dir)
	if err != nil || !bytes.Equal(want, sum) {
		return fmt.Errorf("%w: the list of files does not match its seal", errors.Join(errDamaged, err))
	}
	return nil
}

// unseal removes the seal before an index is written to.
func unseal(dir string) error {
	err := os.Remove(filepath.Join(dir, sealFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// filled reports whether dir holds an index that can be opened without writing.
func filled(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, listFile))
	return err == nil
}

const (
	listFile = "root.bolt"
	sealFile = "seal"
)

// seal writes the seal of an index that was just closed.
func seal(dir string) error {
	sum, err := listSum(dir)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, sealFile)
	if err := os.WriteFile(path, sum, 0o600); err != nil {
		return errors.Join(err, os.Remove(path)) // half a seal would not match
	}
	return nil
}

func listSum(dir string) ([]byte, error) {
	list, err := os.ReadFile(filepath.Join(dir, listFile))
	sum := sha256.Sum256(list)
	return sum[:], err
}

func checkSegment(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	n := info.Size() - crc32.Size
	if n < 0 {
		return io.ErrUnexpectedEOF
	}
	sum := crc32.NewIEEE()
	if _, err := io.CopyN(sum, f, n); err != nil {
		return err
	}
	var want [crc32.Size]byte
	if _, err := io.ReadFull(f, want[:]); err != nil {
		return err
	}
	if sum.Sum32() != binary.BigEndian.Uint32(want[:]) {
		return errors.New("the checksum does not match")
	}
	return nil
}

// folderBytes is the size of the files below dir.
func folderBytes(dir string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				sum += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was merged away meanwhile
		}
		return err
	})
	return sum, err
}
