// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/pkg/kit/version"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

// Server is a ready API server in this process, for a sub-command that runs beside it.
type Server struct {
	// API connects to the server with the rights of the sub-command's user.
	API *rest.Config
	// Views has the content of every zone, verified by the zone's hash.
	Views *zoneview.Set
	// Frozen lists the zones that failed this verification. Views has their last verified content, or none.
	Frozen func() []cache.ObjectName
}

// Reach copies a client configuration without a rate limit, because the server limits by priority and fairness.
func Reach(config *rest.Config, agent string) *rest.Config {
	reach := rest.CopyConfig(config)
	reach.UserAgent, reach.QPS = version.UserAgent(agent), -1
	return reach
}
