// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package tsig

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

var secret32 = base64.StdEncoding.EncodeToString([]byte("a secret of thirty-two octets ok"))

func TestParseKeys_takesWhatTsigKeygenWrites(t *testing.T) {
	text := "# made by hand\n" +
		"key \"Transfer.Example\" {\n\talgorithm hmac-sha256;\n\tsecret \"" + secret32 + "\";\n};\n" +
		"/* and\n another */ key second { secret \"" + secret32 + "\"; algorithm HMAC-SHA512; }; // end"
	keys := must.Get(ParseKeys(text))(t)
	if len(keys) != 2 || keys[0].Name != "transfer.example." || keys[0].Algorithm != HMACSHA256 ||
		keys[1].Name != "second." || keys[1].Algorithm != HMACSHA512 || string(keys[1].secret) != "a secret of thirty-two octets ok" {
		t.Errorf("%+v", keys)
	}
}

func TestParseKeys_refusesAndSaysWhereAndWhy(t *testing.T) {
	for text, want := range map[string]string{
		"":                "no key in it",
		"# nothing\n":     "no key in it",
		"zone \".\" { };": "line 1: only key statements",
		secret32:          "line 1: only key statements",
		"\nkey { };":      "line 2: the key's name expected",
		"key k algorithm": "\"{\" expected after the key's name",
		"key k { algorithm hmac-md5; secret \"" + secret32 + "\"; };":                           "\"hmac-md5\" is not served; use hmac-sha256, hmac-sha384 or hmac-sha512",
		"key k { algorithm hmac-sha1; secret \"" + secret32 + "\"; };":                          "is not served",
		"key k { algorithm hmac-sha256; };":                                                     "has no secret",
		"key k { secret \"" + secret32 + "\"; };":                                               "has no algorithm",
		"key k { algorithm hmac-sha256; secret \"%%%\"; };":                                     "not base64",
		"key k { algorithm hmac-sha256; secret \"\"; };":                                        "secret is empty",
		"key k { algorithm hmac-sha256; secret \"YQ==\"; };":                                    "1 octets, at least 16",
		"key k { algorithm hmac-sha256; algorithm hmac-sha256; secret \"" + secret32 + "\"; };": "algorithm stands twice",
		"key k { algorithm hmac-sha256; secret \"" + secret32 + "\"; }":                         "\";\" expected after }",
		"key k { algorithm hmac-sha256 secret \"" + secret32 + "\"; };":                         "\";\" expected after the value",
		"key k { algorithm hmac-sha256;\nsecret \"" + secret32 + "; };":                         "line 2: a string is not closed",
		"/* key": "a comment is not closed",
		"key \"a..b\" { algorithm hmac-sha256; secret \"" + secret32 + "\"; };":                                                           "no domain name",
		"key k { algorithm hmac-sha256; secret \"" + secret32 + "\"; };\nkey K. { algorithm hmac-sha256; secret \"" + secret32 + "\"; };": "line 2: key \"k\" stands at line 1 already",
	} {
		keys, err := ParseKeys(text)
		if err == nil {
			t.Errorf("%q: taken as %v", text, keys)
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want it to say %q", text, err, want)
		}
		if strings.Contains(err.Error(), secret32) {
			t.Errorf("%q: the error repeats the secret: %v", text, err)
		}
	}
}

func TestKey_neverPrintsItsSecret(t *testing.T) {
	k := must.Get(NewKey("k.", HMACSHA256, []byte("a secret of thirty-two octets ok")))(t)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, value := range []any{k, &k, []Key{k}, struct{ K Key }{k}, struct{ Keys []Key }{[]Key{k}}} {
			text := fmt.Sprintf(verb, value)
			for _, form := range []string{string(k.secret), secret32, fmt.Sprint(k.secret), fmt.Sprintf("%#v", k.secret), fmt.Sprintf("%q", k.secret)} {
				if strings.Contains(text, form) {
					t.Errorf("%s of %T shows the secret: %s", verb, value, text)
				}
			}
		}
	}
}

// ReadKeyFile warns if other users can read or write the file. It does not warn if the group can read it, because
// Kubernetes mounts a Secret with mode 0440, and BIND's rndc.key has 0640.
func TestReadKeyFile_namesAFileThatOthersMayRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	text := "key k { algorithm hmac-sha256; secret \"" + secret32 + "\"; };"
	for mode, warned := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o440: false, 0o640: false, 0o660: true, 0o644: true, 0o604: true, 0o602: true} {
		must.Succeed(t, os.WriteFile(file, []byte(text), 0o600))
		must.Succeed(t, os.Chmod(file, mode))
		keys, warnings, err := ReadKeyFile(file)
		if err != nil || len(keys) != 1 {
			t.Fatalf("%v %v", keys, err)
		}
		if (len(warnings) > 0) != warned {
			t.Errorf("mode %#o: warnings %q", mode, warnings)
		}
		os.Remove(file)
	}
	if _, _, err := ReadKeyFile(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory: %v", err)
	}
}

func FuzzParseKeys(f *testing.F) {
	f.Add("key \"k\" { algorithm hmac-sha256; secret \"" + secret32 + "\"; };")
	f.Add("/**/ # \n// x\nkey")
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := ParseKeys(text)
		if err != nil {
			return
		}
		for _, k := range keys {
			again, err := ParseKeys(fmt.Sprintf("key \"%s\" { algorithm %s; secret \"%s\"; };", k.Name, k.Algorithm, base64.StdEncoding.EncodeToString(k.secret)))
			if err != nil || len(again) != 1 || again[0].Name != k.Name || again[0].Algorithm != k.Algorithm {
				t.Errorf("%v does not come back from its own text: %v %v", k, again, err)
			}
		}
	})
}
