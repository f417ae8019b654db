// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delegation is the admission plugin KubizoneDelegation of the API server. It refuses a Record that the zone
// may not take in, for example because no delegation rule gives the name to the Record's namespace, before validating
// policies and webhooks see the Record. The audit event of an allowed Record gets that rule, such as `zone
// example.org., pattern "*.dev"`.
//
// Guarantees:
//  1. The plugin decides from the server's cache, and the write's transaction decides again. An outdated cache only
//     delays a refusal.
//  2. A refusal is checked against etcd, and has the text of the write's refusal. If the cache cannot tell, the Record
//     passes.
//  3. Deletions, writes of status, and updates that keep the spec pass unchecked.
package delegation
