// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package tsig

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"regexp"
	"strings"

	mdns "github.com/miekg/dns"
)

type Algorithm string

const (
	HMACSHA256 Algorithm = "hmac-sha256."
	HMACSHA384 Algorithm = "hmac-sha384."
	HMACSHA512 Algorithm = "hmac-sha512."
)

func (a Algorithm) hash() func() hash.Hash {
	switch a {
	case HMACSHA256:
		return sha256.New
	case HMACSHA384:
		return sha512.New384
	case HMACSHA512:
		return sha512.New
	}
	return nil
}

// Key is a TSIG key. Formatting a Key never prints the secret.
type Key struct {
	Name      string // canonical: lower case, with trailing dot
	Algorithm Algorithm
	secret    []byte
}

// minSecret is in octets. A shorter secret can be guessed offline from a signed message.
const minSecret = 16

// NewKey returns a Key with a decoded secret, or an error if the secret has fewer than minSecret octets.
func NewKey(keyName string, algorithm Algorithm, secret []byte) (Key, error) {
	if _, ok := mdns.IsDomainName(keyName); !ok || keyName == "" || keyName == "." {
		return Key{}, fmt.Errorf("key %q: the name is no domain name; write one like \"transfer.example.org.\"", keyName)
	}
	// hmac-md5 and hmac-sha1 are refused: RFC 8945 §6 recommends neither.
	if algorithm.hash() == nil {
		return Key{}, fmt.Errorf("key %q: algorithm %q is not served; use hmac-sha256, hmac-sha384 or hmac-sha512", keyName,
			strings.TrimSuffix(string(algorithm), "."))
	}
	if len(secret) < minSecret {
		return Key{}, fmt.Errorf("key %q: the secret has %d octets, at least %d are needed; make one with tsig-keygen", keyName,
			len(secret), minSecret)
	}
	return Key{Name: mdns.CanonicalName(keyName), Algorithm: algorithm, secret: append([]byte(nil), secret...)}, nil
}

func CanonicalName(text string) string { return mdns.CanonicalName(text) }

func (k Key) String() string { return strings.TrimSuffix(k.Name, ".") }

func (k Key) Labels() []string { return mdns.SplitDomainName(k.Name) }

func (k Key) GoString() string { return fmt.Sprintf("tsig.Key(%q)", k.Name) }

const maxKeyFile = 1 << 20

// ReadKeyFile reads the keys in a file, and warns if others can read the file or the group can write it.
func ReadKeyFile(path string) (keys []Key, warnings []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("TSIG key file: %w; name one that this user may read, as tsig-keygen writes it", err)
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("TSIG key file: %w", err)
	}
	// A pipe would block the start, or give the keys only once.
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("TSIG key file %s: not a regular file", path)
	}

	const groupWriteOthersAll = 0o027
	if mode := info.Mode().Perm(); mode&groupWriteOthersAll != 0 {
		warnings = append(warnings, fmt.Sprintf("TSIG key file %s has mode %#o: each user may read the secrets, "+
			"or others than its owner change them; chmod 640 it", path, mode))
	}

	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return nil, nil, fmt.Errorf("TSIG key file: %w", err)
	}
	if len(text) > maxKeyFile {
		return nil, nil, fmt.Errorf("TSIG key file %s: more than %d bytes", path, maxKeyFile)
	}

	keys, err = ParseKeys(string(text))
	if err != nil {
		return nil, nil, fmt.Errorf("TSIG key file %s: %w", path, err)
	}
	return keys, warnings, nil
}

// ParseKeys parses key statements of BIND's named.conf and tsig-keygen:
//
//	key "name" {
//		algorithm hmac-sha256;
//		secret "base64";
//	};
//
// Other statements and duplicate keys are errors. Errors name the line, never the secret.
func ParseKeys(text string) ([]Key, error) {
	p := keyParser{text: text, line: 1}
	var keys []Key
	seen := map[string]int{}
	for {
		if err := p.nextToken(); err != nil {
			return nil, fmt.Errorf("line %d: %w", p.line, err)
		}
		if p.token == "" && !p.quoted {
			break
		}

		startLine := p.line
		key, err := p.parseKey()
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", p.line, err)
		}

		if firstLine, twice := seen[key.Name]; twice {
			return nil, fmt.Errorf("line %d: key %q stands at line %d already; names must differ", startLine, key, firstLine)
		}
		seen[key.Name] = startLine
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New(`no key in it; write key "name" { algorithm hmac-sha256; secret "…"; };`)
	}
	return keys, nil
}

type keyParser struct {
	text   string
	line   int
	token  string // "" at the end of text, unless quoted
	quoted bool
}

func (p *keyParser) expectToken(want, after string) error {
	if err := p.nextToken(); err != nil {
		return err
	}
	if p.token != want || p.quoted {
		return fmt.Errorf("%q expected after %s", want, after)
	}
	return nil
}

func (p *keyParser) expectWord(what string) (string, error) {
	if err := p.nextToken(); err != nil {
		return "", err
	}
	if !p.quoted && (p.token == "" || strings.Contains("{};", p.token)) {
		return "", fmt.Errorf("%s expected", what)
	}
	return p.token, nil
}

// parseKey parses a key statement, whose first token is read already. No error has a token that may be the secret.
func (p *keyParser) parseKey() (Key, error) {
	if p.token != "key" || p.quoted {
		// The token may be a secret in the wrong field.
		return Key{}, errors.New(`only key statements are allowed: key "name" { … };`)
	}

	keyName, err := p.expectWord("the key's name")
	if err != nil {
		return Key{}, err
	}
	if err := p.expectToken("{", "the key's name"); err != nil {
		return Key{}, err
	}

	// The clauses, each once, in any order.
	var algorithm Algorithm
	var secret []byte
	for {
		if err := p.nextToken(); err != nil {
			return Key{}, err
		}
		if p.token == "}" && !p.quoted {
			break
		}

		switch clause := p.token; {
		// "algorithm" in quotes is a value in the wrong place.
		case p.quoted:
			return Key{}, errors.New("algorithm, secret or } expected")
		case clause == "algorithm" && algorithm == "":
			w, err := p.expectWord("the algorithm")
			if err != nil {
				return Key{}, err
			}
			algorithm = Algorithm(mdns.CanonicalName(w))
		case clause == "secret" && secret == nil:
			w, err := p.expectWord("the secret")
			if err != nil {
				return Key{}, err
			}
			if secret, err = base64.StdEncoding.Strict().DecodeString(w); err != nil {
				return Key{}, errors.New("the secret is not base64")
			}
			if len(secret) == 0 {
				return Key{}, errors.New("the secret is empty")
			}
		case clause == "algorithm" || clause == "secret":
			return Key{}, fmt.Errorf("%s stands twice in key %q", clause, keyName)
		default:
			return Key{}, fmt.Errorf("algorithm, secret or } expected in key %q", keyName)
		}

		if err := p.expectToken(";", "the value"); err != nil {
			return Key{}, err
		}
	}

	if err := p.expectToken(";", "}"); err != nil {
		return Key{}, err
	}

	if algorithm == "" {
		return Key{}, fmt.Errorf("key %q has no algorithm; write algorithm hmac-sha256;", keyName)
	}
	if secret == nil {
		return Key{}, fmt.Errorf("key %q has no secret", keyName)
	}
	return NewKey(keyName, algorithm, secret)
}

// Neither pattern matches unclosed comments or strings.
var (
	between = regexp.MustCompile(`^(?:[ \t\r\n]|#[^\n]*|//[^\n]*|(?s:/\*.*?\*/))*`)
	word    = regexp.MustCompile(`^(?:[{};]|"[^"\n]*"|[^ \t\r\n{};"]+)`)
)

// nextToken reads the next token, and counts lines for errors. Comments of all three kinds of named.conf are skipped.
// At the end, token is "" and quoted false.
func (p *keyParser) nextToken() error {
	space := between.FindString(p.text)
	p.line += strings.Count(space, "\n")
	p.text = p.text[len(space):]
	token := word.FindString(p.text)
	switch {
	// The pattern of comments has not matched, so no */ follows.
	case strings.HasPrefix(token, "/*"):
		return errors.New("a comment is not closed")
	case token == "" && p.text != "":
		return errors.New("a string is not closed")
	}
	p.text = p.text[len(token):]
	p.token, p.quoted = strings.Trim(token, `"`), strings.HasPrefix(token, `"`)
	return nil
}
