// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package sealed

import (
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// sealRange translates [from, end), or one key where there is no end.
//
// Among labels the order of etcd is not the caller's. So a range there may only be all keys that begin with a key
// whose labels are ended, or a part of these that begins behind a key read before, or ends behind one (paging). An
// end that stands before any label is the same in both orders.
func (s *Seal) sealRange(from, end string) (string, string, error) {
	if end == "" {
		key, err := s.sealKey(from)
		return key, "", err
	}
	_, _, _, fromInside := s.splitKey(from)
	_, _, _, endInside := s.splitKey(end)
	if !fromInside && !endInside {
		return from, end, nil
	}
	if read, behind := strings.CutSuffix(end, "\x00"); endInside && behind {
		if before, follows := strings.CutSuffix(from, "\x00"); fromInside && follows { // what was read between them, in etcd's order
			sealedBefore, err := s.sealKey(before)
			if err != nil {
				return "", "", err
			}
			sealed, err := s.sealKey(read)
			return sealedBefore + "\x00", sealed + "\x00", err
		}
		if !s.isWhole(from) || !strings.HasPrefix(read, from) {
			return "", "", fmt.Errorf("the range from %q to %q: among names a range that ends behind a key begins with ended labels of that key", from, end)
		}
		sealedFrom, err := s.sealKey(from)
		if err != nil {
			return "", "", err
		}
		sealed, err := s.sealKey(read)
		return sealedFrom, sealed + "\x00", err
	}
	last := len(end) - 1
	prefix := end[:last] + string([]byte{end[last] - 1})
	if endInside {
		if !s.isWhole(prefix) || !strings.HasPrefix(from, prefix) {
			return "", "", fmt.Errorf("the range from %q to %q: among names a range is everything that begins with ended labels, or what follows a key there", from, end)
		}
		sealed, err := s.sealKey(prefix)
		if err != nil {
			return "", "", err
		}
		end = clientv3.GetPrefixRangeEnd(sealed)
	}
	if from == prefix || !fromInside {
		from, err := s.sealKey(from)
		return from, end, err
	}
	key, follows := strings.CutSuffix(from, "\x00")
	if !follows {
		return "", "", fmt.Errorf("the range from %q to %q: among names a range begins with its prefix, or behind a key", from, end)
	}
	sealed, err := s.sealKey(key)
	return sealed + "\x00", end, err
}
