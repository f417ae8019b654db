// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package sealed

import (
	"bytes"
	"crypto/rand"
	"fmt"
)

// mark begins every sealed value; no value of the ledger's own, which are JSON,
// begins so.
const mark = "sealed:1:"

// sealValue returns a value as it stands in etcd under the stored key.
func (s *Seal) sealValue(stored string, data []byte) []byte {
	out := make([]byte, len(mark)+s.values.NonceSize(), len(mark)+s.values.NonceSize()+len(data)+s.values.Overhead())
	nonce := out[copy(out, mark):]
	_, _ = rand.Read(nonce) // never fails (crypto/rand)
	return s.values.Seal(out, nonce, data, []byte(stored))
}

// openValue is the inverse of sealValue. A store whose names stay as they are was
// made before its values were sealed: there one without the mark is taken as it is.
func (s *Seal) openValue(stored string, data []byte) ([]byte, error) {
	rest, marked := bytes.CutPrefix(data, []byte(mark))
	if !marked && s.names == nil {
		return data, nil
	}
	n := s.values.NonceSize()
	if !marked || len(rest) < n {
		return nil, fmt.Errorf("it is not encrypted, and everything in this store is")
	}
	return s.values.Open(nil, rest[:n], rest[n:], []byte(stored))
}
