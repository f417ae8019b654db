// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// parentLabel is `<name>.<namespace>`, cut with a short hash where that is no
// label value (S3.8).
func parentLabel(namespace, object string) string {
	v := object + "." + namespace
	if len(v) <= validation.LabelValueMaxLength {
		return v
	}
	sum := sha256.Sum256([]byte(v))
	return strings.TrimRight(v[:validation.LabelValueMaxLength-11], "-.") + "-" + hex.EncodeToString(sum[:5])
}
