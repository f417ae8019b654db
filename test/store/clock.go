// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"sync/atomic"
	"time"
)

// Clock is the machine's, plus the time passed by the test.
type Clock struct{ ahead atomic.Int64 }

func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *Clock) Pass(d time.Duration) { c.ahead.Add(int64(d)) }

// PassPeriods makes every existing record count in a mass deletion (S7.5).
func (c *Clock) PassPeriods() { c.ahead.Add(int64(30 * time.Minute)) }
