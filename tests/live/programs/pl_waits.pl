# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# Waits in functions of its own.  pl_waits TRUTH COUNT: a line of the truth has a chain of functions, from the outermost, with the
# lines that they stand at, how often it waited there and for how long.
use strict;
use warnings;
use List::Util ();
use Socket;
use Time::HiRes ();

my %lines;
open(my $own, '<', $0) or die;
while (my $line = <$own>) {
    $lines{$_} = $. for split(' ', $line =~ /# at: (.+)$/ ? $1 : '');
}
close($own);

sub nap_inner
{
    select(undef, undef, undef, 0.004);             # at: nap_inner
}

sub nap_outer
{
    for my $i (1) {
        nap_inner();                                # at: nap_outer
    }
}

socketpair(my $mine, my $theirs, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die;
setsockopt($mine, SOL_SOCKET, SO_RCVTIMEO, pack('l!l!', 0, 3000)) or die;

package Reader;

sub new { return bless {}, shift }

sub inner
{
    sysread($mine, my $byte, 1);                    # at: Reader::inner
}

# C calls the block, and eval in it runs Perl anew
sub outer
{
    my $self = shift;
    List::Util::first {
        eval { $self->inner() };                    # at: Reader::__ANON__
        1;
    } 1;                                            # at: Reader::outer
}

package main;

sub by_number
{
    Time::HiRes::usleep(2000);                      # at: by_number
    return 0;
}

sub sorting
{
    my @sorted = sort by_number 2, 1;               # at: sorting
}

sub sorting_by_block
{
    my @sorted = sort { Time::HiRes::usleep(2000); 0 } 2, 1;    # at: sorting_by_block {sort}
}

sub evaluate
{
    eval('select(undef, undef, undef, 0.003)') // die;  # at: evaluate
}

sub run
{
    my ($wait, $count) = @_;
    my $spent = 0;
    for (1 .. $count) {
        my $from = Time::HiRes::clock_gettime(Time::HiRes::CLOCK_MONOTONIC());
        $wait->();                                  # at: run
        $spent += Time::HiRes::clock_gettime(Time::HiRes::CLOCK_MONOTONIC()) - $from;
    }
    return int($spent * 1e9);
}

my $reader = Reader->new();

sub read_some
{
    $reader->outer();                               # at: read_some
}

my @chains = (
    [['nap_outer', 'nap_inner'], \&nap_outer],
    [['read_some', 'Reader::outer', 'Reader::__ANON__', 'Reader::inner'], \&read_some],
    [['sorting', 'by_number'], \&sorting],
    [['sorting_by_block', '{sort}'], \&sorting_by_block],
    [['evaluate'], \&evaluate],
);
$| = 1;
print "ready $$\n";
sysread(STDIN, my $byte, 1);
my $truth = '';
for my $chain (@chains) {
    my ($names, $wait) = @$chain;
    my $spent = run($wait, $ARGV[1]);               # at: {main}
    my $told = join(', ', map { "[\"$_\", $lines{$_}]" } '{main}', 'run', @$names);
    $truth .= "{\"pid\": $$, \"tid\": $$, \"slept\": $ARGV[1], \"spent_ns\": $spent, \"chain\": [$told]}\n";
}
print "done\n";
open(my $file, '>', $ARGV[0]) or die;
print $file $truth;
close($file);
sysread(STDIN, $byte, 1);
