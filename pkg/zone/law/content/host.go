// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import "kubi.zone/kubizone/pkg/dns/name"

// IsMailbox reports whether an absolute name may be the mailbox in an SOA or RP record (RFC 1035 §8): a label of
// printable characters before a host name, or "." for no mailbox.
func IsMailbox(text string) bool {
	if text == "." {
		return true
	}

	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '.' { // the first label ends
			return i > 0 && name.IsHost(text[i+1:])
		}
		if !isPrintable(int(c)) {
			return false
		}
		if c != '\\' {
			continue
		}

		isDecimal := i+3 < len(text) && '0' <= text[i+1] && text[i+1] <= '9' // \DDD
		if !isDecimal {
			i++ // \X
			continue
		}
		octet := int(text[i+1]-'0')*100 + int(text[i+2]-'0')*10 + int(text[i+3]-'0')
		if !isPrintable(octet) {
			return false
		}
		i += 3
	}

	return false
}

func isPrintable(octet int) bool { return ' ' < octet && octet < 0x7f }
