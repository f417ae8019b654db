// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package must

import (
	"bytes"
	"sync"
)

// Output is read while a program writes to it.
type Output struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (o *Output) Write(p []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.Write(p)
}

func (o *Output) String() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.String()
}
