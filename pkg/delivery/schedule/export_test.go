// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

// Retry tries again at once what failed or waits with a class, as another Generation of it does.
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
