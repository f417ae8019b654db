// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import "strings"

// BIND loads no zone file, unless told to, with certain names that are no host
// names (check-names, RFC 952, RFC 1123 §2.1), the SOA's among them: one such
// name would stop the zone (S5.7).

// IsHost reports whether a name in presentation form is a host name: letters,
// digits and hyphens, no hyphen at either end of a label. The root is one.
func IsHost(text string) bool {
	text = strings.TrimSuffix(text, ".")
	if text == "" {
		return true
	}
	for _, label := range strings.Split(text, ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
				return false
			}
		}
	}
	return true
}

// IsMailbox reports whether an absolute name in presentation form may stand for
// a mailbox (RFC 1035 §8): a first label of printable characters, then a host.
func IsMailbox(text string) bool {
	if text == "." {
		return true
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '.':
			return i > 0 && IsHost(text[i+1:])
		case c <= ' ' || c >= 0x7f:
			return false
		case c != '\\':
		case i+3 < len(text) && '0' <= text[i+1] && text[i+1] <= '9':
			octet := int(text[i+1]-'0')*100 + int(text[i+2]-'0')*10 + int(text[i+3]-'0')
			if octet <= ' ' || octet >= 0x7f {
				return false
			}
			i += 3
		default:
			i++
		}
	}
	return false
}
