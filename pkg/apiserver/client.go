// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/component-base/tracing"

	"kubi.zone/kubizone/pkg/kit/version"
	"kubi.zone/kubizone/pkg/zone/etcd/maintenance"
)

// Prefix begins every key in etcd. It never changes.
const Prefix = "/registry/kubizone"

const (
	dialTimeout      = 20 * time.Second
	keepAliveTime    = 30 * time.Second
	keepAliveTimeout = 10 * time.Second
	// window is in octets. gRPC's dynamic window would add a ping to each request of a single caller.
	window = 4 << 20
)

// dialEtcd returns a connected client of etcd, or an error with the cause and the next step. The caller closes the
// client.
func dialEtcd(ctx context.Context, where storagebackend.TransportConfig) (*kubernetes.Client, error) {
	config := clientv3.Config{
		Endpoints:            where.ServerList,
		DialTimeout:          dialTimeout,
		DialKeepAliveTime:    keepAliveTime,
		DialKeepAliveTimeout: keepAliveTimeout,
		Logger:               zap.NewNop(),
		DialOptions:          []grpc.DialOption{grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window)},
	}
	if where.CertFile != "" || where.KeyFile != "" || where.TrustedCAFile != "" {
		files := transport.TLSInfo{CertFile: where.CertFile, KeyFile: where.KeyFile, TrustedCAFile: where.TrustedCAFile}
		var err error
		if config.TLS, err = files.ClientConfig(); err != nil {
			return nil, fmt.Errorf("etcd %v: %w", where.ServerList, err)
		}
	}
	if recordsSpans(ctx, where.TracerProvider) {
		config.DialOptions = append(config.DialOptions, grpc.WithStatsHandler(otelgrpc.NewClientHandler(
			otelgrpc.WithPropagators(tracing.Propagators()), otelgrpc.WithTracerProvider(where.TracerProvider))))
	}

	client, err := kubernetes.New(config)
	if err != nil {
		return nil, fmt.Errorf("etcd %v: %w", where.ServerList, err)
	}

	// Wait for the connection: gRPC itself would connect in the background, and tell no cause.
	ctx, cancel := context.WithTimeoutCause(ctx, dialTimeout, fmt.Errorf("no connection within %s", dialTimeout))
	defer cancel()
	connection := client.ActiveConnection()
	for state := connection.GetState(); state != connectivity.Ready; state = connection.GetState() {
		if state == connectivity.Idle {
			connection.Connect()
		}
		if !connection.WaitForStateChange(ctx, state) {
			err := fmt.Errorf("etcd %v: %w%s", where.ServerList, context.Cause(ctx), lastFailure(connection))
			client.Close()
			return nil, err
		}
	}

	// Add the layers of requests, the innermost first: latency, faults of tests, explanations.
	client.KV = etcd3.NewETCDLatencyTracker(client.KV)
	if Faults.KV != nil {
		client.KV = Faults.KV(client.KV, Prefix)
	}
	client.KV = maintenance.Explain(client.KV)
	return client, nil
}

// Reachable tries to connect to etcd. The error suggests the next step.
func Reachable(ctx context.Context, where storagebackend.TransportConfig) error {
	client, err := dialEtcd(ctx, where)
	if err != nil {
		return err
	}
	return client.Close()
}

// lastFailure sends a request, because gRPC reports causes only to requests.
func lastFailure(connection *grpc.ClientConn) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := etcdserverpb.NewKVClient(connection).Range(ctx, &etcdserverpb.RangeRequest{Key: []byte{0}}, grpc.WaitForReady(false))
	switch text := status.Convert(err).Message(); {
	case status.Code(err) != codes.Unavailable:
		return "; is it running there?"
	case strings.Contains(text, "handshake") || strings.Contains(text, "tls: ") || strings.Contains(text, "x509: "):
		return "; " + text + " (compare --etcd-cafile, --etcd-certfile and --etcd-keyfile with what this etcd trusts and shows)"
	default:
		return "; " + text + "; is it running there?"
	}
}

// recordsSpans returns false if the provider drops spans, because even dropped spans cost time.
func recordsSpans(ctx context.Context, provider trace.TracerProvider) bool {
	if provider == nil {
		return false
	}
	_, span := provider.Tracer(version.Component).Start(ctx, "etcd") // never ended, so never exported
	return span.SpanContext().IsValid()
}
