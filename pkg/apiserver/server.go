// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import "net"

// Config is what a server needs to be told.
type Config struct {
	// Listener is bound already, so that a taken port is an error before anything is started. The server closes it.
	Listener net.Listener
	// ServingCert and ServingKey are PEM.
	ServingCert, ServingKey []byte
	// ClientCA is PEM: who may enter, standalone.
	ClientCA []byte
	// EtcdEndpoints are URLs: http, https or unix.
	EtcdEndpoints []string
}
