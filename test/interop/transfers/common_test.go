// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfers

import "kubi.zone/kubizone/test/rig"

const apex = "example.org."

var (
	key       = rig.TSIGKey{Name: "transfer.example", Algorithm: "hmac-sha256", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}
	sha512Key = rig.TSIGKey{Name: "transfer.example", Algorithm: "hmac-sha512", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}
)
