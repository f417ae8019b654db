// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"net/http"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/features"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	basecompatibility "k8s.io/component-base/compatibility"

	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	"kubi.zone/kubizone/pkg/apiserver/pace"
	generatedopenapi "kubi.zone/kubizone/pkg/generated/openapi"
	"kubi.zone/kubizone/pkg/version"
)

const (
	// Component is our name where upstream asks for one.
	Component = "kubizone"

	// requestTimeout bounds every request but watches and the two streams.
	requestTimeout = time.Minute
	// drainTimeout bounds what a stopping server waits for connections that stay open, watches for the most part.
	drainTimeout = 5 * time.Second
)

// SetGates gives Kubernetes' feature gates, which the generic server reads from one place for the whole process, the
// values of ours that differ. A command that takes gates from flags sets these first, to see which gates its user
// asked for.
func SetGates() error {
	// Deleting an object that cannot be decoded would take a record out of its zone without the zone knowing (A4).
	gates := map[string]bool{string(features.AllowUnsafeMalformedObjectDeletion): false}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(gates); err != nil {
		return fmt.Errorf("feature gates: %w", err)
	}
	return nil
}

// genericConfig is what standalone and aggregated servers have in common.
func genericConfig(registry install.Registry) (*genericapiserver.RecommendedConfig, error) {
	if err := SetGates(); err != nil {
		return nil, err
	}
	config := genericapiserver.NewRecommendedConfig(registry.Codecs)
	// Both are Kubernetes', at the defaults of the release we build with.
	config.FeatureGate = compatibility.DefaultComponentGlobalsRegistry.FeatureGateFor(basecompatibility.DefaultKubeComponent)
	config.EffectiveVersion = effectiveVersion{compatibility.DefaultComponentGlobalsRegistry.EffectiveVersionFor(
		basecompatibility.DefaultKubeComponent)}

	namer := openapi.NewDefinitionNamer(install.Served(authorizationv1.AddToScheme))
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(generatedopenapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIConfig.Info.Title = Component
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(generatedopenapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIV3Config.Info.Title = Component

	config.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		return pace.EndSlowClients(genericapiserver.DefaultBuildHandlerChain(checkBodies(handler), c), c)
	}
	config.RequestTimeout = requestTimeout
	// Each may stream a whole zone: the request timeout would cut them, and they would hold a seat meanwhile.
	config.LongRunningFunc = filters.BasicLongRunningRequestCheck(sets.NewString("watch"), sets.NewString("entries", "changes"))
	config.ShutdownWatchTerminationGracePeriod = drainTimeout / 2
	return config, nil
}

// effectiveVersion answers /version with the Kubernetes release we are built with, as clients compare it with what they
// need, and with our version as build metadata.
type effectiveVersion struct {
	basecompatibility.EffectiveVersion
}

func (v effectiveVersion) Info() *apimachineryversion.Info {
	info := v.EffectiveVersion.Info()
	// The libraries know major and minor alone: component-base says v0.0.0 in every module but Kubernetes' own.
	info.GitVersion = "v" + v.BinaryVersion().WithPatch(0).String() + "+" + Component + "-v" + version.Number()
	info.GitCommit, info.GitTreeState, info.BuildDate = "", "", ""
	return info
}
