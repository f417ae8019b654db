// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/cmd/kubizone/controller"
	"kubi.zone/kubizone/test/standalone"
)

// A standalone server (`kubizone up`) delivers zones by itself. A controller started beside it would deliver them
// twice, so it reports this and ends.
func TestController_saysThatAStandaloneServerDelivers(t *testing.T) {
	t.Parallel()
	server := standalone.Start(t)
	command := controller.NewCommand()
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs([]string{"--kubeconfig", server.Kubeconfig, "--health-listen", "127.0.0.1:0"})
	command.SetOut(io.Discard)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	err := command.ExecuteContext(ctx)
	if err == nil || !strings.Contains(err.Error(), "kubizone up) delivers by itself") || ctx.Err() != nil {
		t.Errorf("it ends with %v, by itself: %v", err, ctx.Err() == nil)
	}
}
