// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

// MAC is the key's whole MAC over parts, one after the other. It lets who speaks to other servers sign with a key from
// the same file, while the secret stays here.
func (k Key) MAC(parts ...[]byte) []byte {
	mac := (&signingKey{Key: k}).mac()
	for _, part := range parts {
		mac.Write(part)
	}
	return mac.Sum(nil)
}
