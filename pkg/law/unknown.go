// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

// Unknown are the fields of a stored value that this program does not know, as JSON:
// a newer one wrote them, and they stay with the value when this one writes it again.
// A copy of a value has the same pointer, so what it points to is never changed. A Ref has
// none: it is compared as a whole, and never gets another field.
type Unknown struct{ Fields map[string][]byte }
