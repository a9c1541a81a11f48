"""Where punctuation is made (window-id.txt 7.2): one file for each rule.

The one place that does; operators only read what comes out of it. A rule has two halves. On the
map side ``observe`` looks at rows and says what shards must hear of them. In a shard ``advance``
takes in what all tasks said in a micro-batch; what it makes takes effect at the end of it.
"""
