<?php
// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Waits in functions of its own.  php_waits TRUTH COUNT: a line of the truth has a chain of functions, from the outermost, with the
// lines that they stand at, how often it waited there and for how long.
$lines = [];
foreach (file(__FILE__) as $number => $text) {
    if (preg_match('/# at: (.+)$/', $text, $found)) {
        $lines[trim($found[1])] = $number + 1;
    }
}

function nap_inner()
{
    usleep(4000);                                       # at: nap_inner
}

function nap_outer()
{
    nap_inner();                                        # at: nap_outer
}

class Reader
{
    private $ends;

    function __construct()
    {
        $this->ends = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    }

    function inner($seconds)
    {
        stream_set_timeout($this->ends[0], 0, 3000);
        fread($this->ends[0], 1);                       # at: Reader::inner
    }

    function outer()
    {
        array_map([$this, 'inner'], [1]);               # at: Reader::outer
    }
}

function numbers()
{
    while (true) {
        time_nanosleep(0, 3000000);                     # at: numbers
        yield 1;
    }
}

$items = numbers();

function next_of_generator()
{
    global $items;

    $items->next();                                     # at: next_of_generator
}

function run($wait, $count)
{
    $spent = 0;
    for ($i = 0; $i < $count; $i++) {
        $from = hrtime(true);
        $wait();                                        # at: run
        $spent += hrtime(true) - $from;
    }
    return $spent;
}

$reader = new Reader();
$chains = [
    [['nap_outer', 'nap_inner'], 'nap_outer'],
    [['Reader::outer', 'Reader::inner'], [$reader, 'outer']],
    [['next_of_generator', 'numbers'], 'next_of_generator'],
];
$items->current();
echo 'ready ', getmypid(), "\n";
fread(STDIN, 1);
$truth = '';
foreach ($chains as [$chain, $wait]) {
    $spent = run($wait, (int)$argv[2]);                 # at: {main}
    $told = array_map(fn($name) => [$name, $lines[$name]], ['{main}', 'run', ...$chain]);
    $truth .= json_encode(['pid' => getmypid(), 'tid' => getmypid(), 'slept' => (int)$argv[2], 'spent_ns' => $spent, 'chain' => $told]) . "\n";
}
echo "done\n";
file_put_contents($argv[1], $truth);
fread(STDIN, 1);
