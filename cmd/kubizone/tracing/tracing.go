// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/tracing"
	tracingapi "k8s.io/component-base/tracing/api/v1"

	"kubi.zone/kubizone/pkg/kit/version"
)

const flushTime = 5 * time.Second

type Options struct{ ConfigFile string }

func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.ConfigFile, "tracing-config-file", o.ConfigFile, "file with a TracingConfiguration of "+
		"apiserver.config.k8s.io, as kube-apiserver's; empty: no traces")
}

// Config is the content of the file; nil without the flag.
type Config = tracingapi.TracingConfiguration

// Complete reads and validates the file. It returns nil without the flag.
func (o *Options) Complete() (*Config, error) {
	if o.ConfigFile == "" {
		return nil, nil
	}
	config, err := genericoptions.ReadTracingConfiguration(o.ConfigFile)
	if err == nil {
		err = tracingapi.ValidateTracingConfiguration(config, utilfeature.DefaultFeatureGate, nil).ToAggregate()
	}
	if err != nil {
		return nil, fmt.Errorf("--tracing-config-file: %w; write a TracingConfiguration of apiserver.config.k8s.io/v1, with endpoint and "+
			"samplingRatePerMillion", err)
	}
	return config, nil
}

func (o *Options) Open(ctx context.Context, process string) (tracing.TracerProvider, error) {
	config, err := o.Complete()
	if err != nil {
		return nil, err
	}
	return Open(ctx, config, process)
}

// Open returns a provider of OpenTelemetry spans, or nil without a config. The provider connects later, so an absent
// collector is no error.
func Open(ctx context.Context, config *Config, process string) (tracing.TracerProvider, error) {
	if config == nil {
		return nil, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	provider, err := tracing.NewProvider(ctx, config, nil, []resource.Option{resource.WithAttributes(
		semconv.ServiceNameKey.String(version.Component+"-"+process), semconv.ServiceVersionKey.String(version.Number()),
		semconv.ServiceInstanceIDKey.String(host))})
	if err != nil {
		return nil, fmt.Errorf("--tracing-config-file: %w", err)
	}
	return bounded{provider}, nil
}

func Close(provider tracing.TracerProvider) {
	if provider != nil {
		_ = provider.Shutdown(context.Background())
	}
}

type bounded struct{ tracing.TracerProvider }

func (b bounded) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	return b.TracerProvider.Shutdown(ctx)
}
