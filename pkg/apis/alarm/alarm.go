// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package alarm

const (
	Space   = "etcd-space"
	Corrupt = "etcd-corrupt"
)
