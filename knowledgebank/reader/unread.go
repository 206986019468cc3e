package reader

import (
	"bytes"
	"path"
	"strings"
)

// unread says why a file is not read, and what to do.
func unread(name string, head []byte) string {
	for _, u := range unreadStarts {
		if bytes.HasPrefix(head[min(u.at, len(head)):], []byte(u.start)) {
			return u.why
		}
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".mp3", ".m4a", ".aac", ".opus", ".wma", ".mpg", ".mpeg":
		return unreadSound
	case ".svg", ".heic":
		return unreadPicture
	}
	return "the file format is not supported; save it as text, PDF or a Word document and add that"
}

const (
	unreadPicture = "the file is a picture; to add the text in it, save it as a PDF with text (OCR)"
	unreadSound   = "the file is a recording; add its transcript (.vtt or .srt) instead"
	unreadArchive = "the file is an archive of other files; unpack it and add the folder"
	unreadProgram = "the file is a program"
)

// unreadStarts are how formats that are not read begin.
var unreadStarts = []struct {
	at         int
	start, why string
}{
	{0, "\x89PNG", unreadPicture},
	{0, "\xff\xd8\xff", unreadPicture},
	{0, "GIF8", unreadPicture},
	{0, "II*\x00", unreadPicture},
	{0, "MM\x00*", unreadPicture},
	{0, "BM", unreadPicture},
	{8, "WEBP", unreadPicture},
	{4, "ftypheic", unreadPicture},
	{4, "ftypavif", unreadPicture},
	{4, "ftypmif1", unreadPicture},
	{4, "ftyp", unreadSound},
	{8, "WAVE", unreadSound},
	{8, "AVI ", unreadSound},
	{0, "ID3", unreadSound},
	{0, "\xff\xfb", unreadSound},
	{0, "OggS", unreadSound},
	{0, "fLaC", unreadSound},
	{0, "\x1a\x45\xdf\xa3", unreadSound}, // Matroska
	{0, "7z\xbc\xaf\x27\x1c", unreadArchive},
	{0, "Rar!", unreadArchive},
	{0, "\xfd7zXZ", unreadArchive},
	{0, "BZh", unreadArchive},
	{0, "\x28\xb5\x2f\xfd", unreadArchive},
	{257, "ustar", unreadArchive},
	{0, "\x7fELF", unreadProgram},
	{0, "MZ", unreadProgram},
	{0, "%!PS", "the file is PostScript; save it as PDF and add that"},
	{0, "bplist", "the file is a settings file of macOS"},
	{0, "SQLite format 3", "the file is a database; export its text and add that"},
}
