// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inprocess sends HTTP requests to a handler of this process, which saves the connection and nothing else.
//
// It promises: (1) the handler meets a request as from a connection, and sees nothing of its sender's context but that
// it ends; (2) the whole answer is kept in memory, so it is for no watch and no stream; (3) a panic of the handler ends
// its request alone.
//
// It does not know what requests are about, nor who may send them: the handler asks for credentials as ever.
//
// Read inprocess.go.
package inprocess
