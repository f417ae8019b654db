// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command certmanager runs cert-manager's controllers for ACME, like cert-manager's own command, whose module no proxy
// serves. A separate module keeps cert-manager out of the product.
//
//	certmanager KUBECONFIG NAMESPACE RESOLVER
//
// NAMESPACE is the controller's, and has the objects of ClusterIssuers. Only RESOLVER is queried for challenges.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cert-manager/cert-manager/pkg/controller"
	_ "github.com/cert-manager/cert-manager/pkg/controller/acmechallenges"
	_ "github.com/cert-manager/cert-manager/pkg/controller/acmeorders"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/acme"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/acme"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return errors.New("usage: certmanager KUBECONFIG NAMESPACE RESOLVER")
	}
	g, ctx := errgroup.WithContext(ctx)
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig:       args[0],
		IssuerOptions:    controller.IssuerOptions{ClusterResourceNamespace: args[1]},
		ACMEOptions:      controller.ACMEOptions{DNS01Nameservers: args[2:], DNS01CheckRetryPeriod: time.Second},
		SchedulerOptions: controller.SchedulerOptions{MaxConcurrentChallenges: 60},
		CertificateOptions: controller.CertificateOptions{
			CertificateRequestMinimumBackoffDuration: time.Hour, CertificateRequestMaximumBackoffDuration: 32 * time.Hour},
	})
	if err != nil {
		return err
	}
	shared, err := factory.Build()
	if err != nil {
		return err
	}
	for name, build := range controller.Known() {
		c, err := build(factory)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		g.Go(func() error { return c.Run(5, ctx) })
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	shared.HTTP01ResourceMetadataInformersFactory.Start(ctx.Done())
	return g.Wait()
}
