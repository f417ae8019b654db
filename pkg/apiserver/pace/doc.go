// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pace ends requests whose clients neither send nor read.
//
// It promises: (1) a client that stands still for five seconds, or is slower than 64 KiB a second after that, holds
// no seat of priority and fairness; (2) the time that a handler takes is not the client's; (3) a long answer to a
// client that reads is not cut, however long it is.
//
// It does not know what requests are about: which ones are long, such as watches, the server's configuration says.
//
// Read pace.go.
package pace
