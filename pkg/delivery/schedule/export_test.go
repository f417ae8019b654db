// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import "time"

const LostPause = 3 * time.Second

// Retry retries the class's failed and waiting jobs at once, as a new Generation does.
func (l *Loop) Retry(class string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.classes[class]
	if c == nil {
		return
	}
	c.queue.restartJobs()
	l.enqueueClass(c)
}
