// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package review is the sub-command that tells in a pull request what a branch does to zones.
//
// Guarantees:
//
//	W1. A pull request has one comment of a name, which later runs change. It is found by its first line and its
//	    author: comments of other authors are never changed.
//	W2. No text of files or of the server is more than code in the comment: no mention, link, HTML or command. It has
//	    at most the forge's size, and says what is left out.
//	W3. Requests and waiting are bounded, and the token goes to the address of the forge's API alone.
//	W4. The exit code is 1 if a file is wrong, the server refuses a write, or the gate does; 2 if that is unknown or
//	    the comment could not be written. A token that may not write, of a fork, is no failure.
//
// Out of scope: the plan, which package importer makes, and the verdicts about files, which package lint has.
//
// Read first: review.go, gate.go, comment.go, forge.go.
package review
