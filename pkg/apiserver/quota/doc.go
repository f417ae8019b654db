// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package quota counts Records in Kubernetes' ResourceQuotas (count/records.kubi.zone).
//
// Guarantees:
//
//  1. Admission charges a Record before its write, as kube-apiserver charges its objects.
//  2. A refused change set gives its charge back, and no quota then counts fewer Records than are stored.
package quota
