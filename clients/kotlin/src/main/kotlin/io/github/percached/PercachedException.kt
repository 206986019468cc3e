package io.github.percached

import io.github.percached.generated.models.Problem
import java.io.IOException

/**
 * percached refused a request, or could not carry it out. [problem] is null if the response is not
 * from percached, but from a proxy for example.
 */
class PercachedException(val status: Int, val problem: Problem? = null) :
    IOException(if (problem != null) "$status ${problem.title}: ${problem.detail}" else "$status no problem body")
