// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import "kubi.zone/kubizone/pkg/delivery/schedule"

// shared are the parts that classSync, recordSync and zoneSync work with.
type shared struct {
	index  *index
	queue  queue
	stalls *stalls
	status statusWriter
	events announcer
	store  *store
	loop   *schedule.Loop
}
