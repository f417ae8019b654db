// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/pkg/version"
	"kubi.zone/kubizone/pkg/zoneview"
)

// Server is an API server in this process that is ready.
type Server struct {
	// API reaches the server as the user of the sub-command.
	API *rest.Config
	// Views have every zone, proven by its hash, except for Frozen zones.
	Views  *zoneview.Set
	Frozen func() []cache.ObjectName
}

// Reach returns a copy of a client configuration without a rate limit. The server limits the rate, by priority and
// fairness.
func Reach(config *rest.Config, agent string) *rest.Config {
	reach := rest.CopyConfig(config)
	reach.UserAgent, reach.QPS = version.UserAgent(agent), -1
	return reach
}
