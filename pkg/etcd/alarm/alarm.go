// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package alarm

// Names of checks.
const (
	Space   = "etcd-space"
	Corrupt = "etcd-corrupt"
)
