// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"sync/atomic"
	"time"
)

// Clock is what servers take for the time: the machine's, and what has been let pass beside.
type Clock struct{ ahead atomic.Int64 }

// Now is the time.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// PassPeriods lets half an hour pass, after which all that stands counts against what goes (S7.5).
func (c *Clock) PassPeriods() { c.ahead.Add(int64(30 * time.Minute)) }
