package remotebackup_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/percached/percached/internal/remotebackup"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]remotebackup.Place{
		"s3://b":                                 {Bucket: "b", Endpoint: "s3.amazonaws.com"},
		"s3://b/one/two/?region=eu":              {Bucket: "b", Prefix: "one/two", Endpoint: "s3.amazonaws.com", Region: "eu"},
		"s3://b/p?endpoint=https://h:9000":       {Bucket: "b", Prefix: "p", Endpoint: "h:9000", Region: "us-east-1"},
		"s3://b/p?endpoint=http://[::1]:90":      {Bucket: "b", Prefix: "p", Endpoint: "[::1]:90", Region: "us-east-1", Plain: true},
		"s3://b/.hidden/../own.":                 {Bucket: "b", Prefix: "own.", Endpoint: "s3.amazonaws.com"},
		"s3://b/.":                               {Bucket: "b", Endpoint: "s3.amazonaws.com"},
		"s3://b?endpoint=http://h&insecure=true": {Bucket: "b", Endpoint: "h", Region: "us-east-1", Plain: true},
	} {
		if got, err := remotebackup.Parse(text); err != nil || got != want {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "s3://", "https://b/p", "s3://id:secret@b/p", "s3://b?endpoint=h:9000", "s3://b?endpoint=http://h", "s3://b?endpoint=https://h/path",
		"s3://b?endpoint=https://u:secret@h", "s3://AKIA:ab/secret@bucket/p", "s3://AKIA:12/secret@bucket/p", "s3://AKIA:ab?secret@bucket",
		"s3://b?endpoint=https://u:x&secret@h=1", "s3://b?endpoint=https://u:secret/x@h", "s3://b?other=1", "s3://b?region=a&region=b", "s3://b?%zz",
	} {
		if got, err := remotebackup.Parse(text); err == nil {
			t.Errorf("%s: %+v", text, got)
		} else if strings.Contains(err.Error(), "secret") {
			t.Error(err)
		}
	}
}

func TestCredentials(t *testing.T) {
	place, err := remotebackup.Parse("s3://b")
	if err != nil {
		t.Fatal(err)
	}
	file := func(text string, mode os.FileMode) string {
		name := filepath.Join(t.TempDir(), "keys")
		if err := errors.Join(os.WriteFile(name, []byte(text), 0o600), os.Chmod(name, mode)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	env := func(all ...string) func(string) string {
		return func(name string) string {
			if slices.Contains(all, name) {
				return "set"
			}
			return ""
		}
	}
	for _, tc := range []struct {
		file string
		env  func(string) string
		says string
	}{
		{file("id\nsecret\n", 0o600), env(), ""},
		{"", env("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), ""},
		{"", env("AWS_ACCESS_KEY_ID"), "no credentials"},
		{file("id\nsecret\n", 0o640), env(), "chmod 600"},
		{file("secret", 0o600), env(), "two lines"},
		{filepath.Join(t.TempDir(), "none"), env(), "no such file"},
	} {
		s, err := remotebackup.Open(place, tc.file, tc.env)
		if (err == nil) != (tc.says == "") || err != nil && (!strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%+v: %v", tc, err)
		}
		if s != nil {
			s.Close()
		}
	}
}
