// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package name

import "strings"

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
